"""What the workers of all embedded engines are asked beside trials."""

from __future__ import annotations

from typing import Any

from tdelta.processes.rpc import Reply, Request


class PricingHost:
    """Times pages or blocks of files."""

    def library(self) -> str:
        """The library that is loaded, for people."""
        raise NotImplementedError

    def priced(self, options: Any) -> Any:
        """A `tdelta.engines.embedded.prices.PricedFile`, made as the engine's parent side says."""
        raise NotImplementedError

    def do_prove(self, request: Request) -> Reply:
        from tdelta.engines.embedded.prices import opened, proof  # not earlier: few workers are asked

        with opened(request["files"], self.priced) as files:
            return {**proof(files), "library": self.library()}

    def do_price(self, request: Request) -> Reply:
        from tdelta.engines.embedded.prices import opened, prices  # not earlier: few workers are asked

        with opened(request["files"], self.priced) as files:
            return {"passes": prices(files, **request["effort"])}
