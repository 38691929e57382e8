/** Which generation of the create and connect routes a server has. */
export type RouteGeneration = "newest" | "older";

/** What was learned about servers, by base URL. */
export interface RouteMemory {
  get(baseUrl: string): RouteGeneration | undefined;
  set(baseUrl: string, generation: RouteGeneration): unknown;
}
