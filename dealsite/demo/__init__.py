"""The demo content: invented brands and their deals, with pictures drawn from an installed set of icons."""

from dealsite.demo.people import SIGN_INS

__all__ = ["SIGN_INS"]
