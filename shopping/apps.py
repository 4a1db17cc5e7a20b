from django.apps import AppConfig


class Shopping(AppConfig):
    name = "shopping"

    def ready(self) -> None:
        from dealsite.accounts import sign_in
        from shopping import cart
        from shopping.my import relations

        sign_in.after_sign_in(pending_action=relations.pending_action, step=cart.merge_visitor_cart)
