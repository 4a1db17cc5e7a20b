"""The four models, each with its questions and entities."""

from tests.seeds import bank_payments, deals_stored, online_store, retail_cart

MODELS = [deals_stored.MODEL, retail_cart.MODEL, bank_payments.MODEL, online_store.MODEL]
