from django.apps import AppConfig


class Shopping(AppConfig):
    name = "shopping"

    def ready(self) -> None:
        from dealsite.accounts import after_sign_in
        from shopping.cart import owner
        from shopping.my import pending_action

        after_sign_in.register(pending_action=pending_action.read, step=owner.merge_visitor_cart)
