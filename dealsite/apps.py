from django.apps import AppConfig


class DealsiteConfig(AppConfig):
    name = "dealsite"

    def ready(self) -> None:
        from dealsite import checks  # noqa: F401 - which registers them
