from django.apps import AppConfig


class DealsiteConfig(AppConfig):
    name = "dealsite"

    def ready(self) -> None:
        from dealsite.accounts import checks_two_factor  # noqa: F401 - registers what manage.py check says
