"""The addresses under /account/ of what a shopper has: orders, payments, card, messages, likes, watches."""

from django.urls import path

from shopping.my import inbox, orders, overview, payments, relations

urlpatterns = [
    path("", overview.account, name="account"),
    path("messages/", inbox.inbox, name="inbox"),
    path("messages/badge/", inbox.unread_badge, name="unread_badge"),
    path("messages/read/", inbox.mark_all_read, name="mark_all_read"),
    path("messages/settings/", relations.message_settings, name="message_settings"),
    path("messages/settings/hot-deals/", relations.mute_hot_deals, name="mute_hot_deals"),
    path("messages/settings/all/", relations.mute_all, name="mute_all"),
    path("messages/<str:message_id>/", inbox.open_message, name="open_message"),
    path("messages/<str:message_id>/read/", inbox.mark_read, name="mark_read"),
    path("messages/<str:message_id>/delete/", inbox.delete_message, name="delete_message"),
    path("orders/", orders.orders, name="orders"),
    path("orders/<str:order_id>/", orders.order, name="order"),
    path("orders/<str:order_id>/address/", orders.order_address, name="order_address"),
    path("orders/<str:order_id>/cancel/", orders.cancel_order, name="cancel_order"),
    path("orders/<str:order_id>/cancel/part/", orders.cancel_part, name="cancel_part"),
    path("orders/<str:order_id>/return/", orders.return_part, name="return_part"),
    path("orders/<str:order_id>/again/", orders.order_again, name="order_again"),
    path("bought/", orders.bought, name="bought"),
    path("payments/", payments.payments, name="payments"),
    path("payments/<str:payment_id>/pay/", payments.pay, name="pay"),
    path("card/", payments.card, name="card"),
    path("card/begin/", payments.begin_card, name="begin_card"),
    path("card/finish/", payments.finish_card, name="finish_card"),
    path("card/forget/", payments.forget_card, name="forget_card"),
    path("likes/", relations.likes, name="likes"),
    path("watching/", relations.watching, name="watching"),
    path("watching/mute/", relations.mute_watch, name="mute_watch"),
]
