import click


@click.command()
def calendar(): ...
