/** Which generation of the create and connect routes a server has. */
export type RouteGeneration = "newest" | "older";

/** What was learned about servers, by base URL. */
export type RouteMemory = Pick<Map<string, RouteGeneration>, "get" | "set">;
