"""The option by which a person overrides the limits that protect the job."""

from typing import Annotated

import typer

Override = Annotated[
    bool,
    typer.Option(
        "--override",
        help="Pass max_step, scale_out_only, min_parallelism, max_rescales_a_day, freeze or windows; needs --why.",
    ),
]
