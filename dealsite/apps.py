from django.apps import AppConfig


class DealsiteConfig(AppConfig):
    name = "dealsite"

    def ready(self) -> None:
        from dealsite.accounts import checks  # noqa: F401 - which registers them
