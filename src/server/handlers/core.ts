import type { RouteHandlers } from "../built-in-routes.js";
import type { ServerServices } from "../services.js";

/** Routes that are always on. */
export function createCoreHandlers({ config }: ServerServices): Pick<RouteHandlers, "getHealth" | "getCapabilities"> {
  return {
    getHealth: () => ({ status: "ok" }),
    getCapabilities: () => ({ groups: config.groups }),
  };
}
