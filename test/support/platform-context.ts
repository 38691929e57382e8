/** The platform that serves a whole vitest run, or why there is none. */
export type PlatformContext =
  | { readonly isAvailable: true; readonly apiUrl: string; readonly sandboxUrl: string; readonly apiKey: string; readonly pid: number }
  | { readonly isAvailable: false; readonly reason: string };

declare module "vitest" {
  export interface ProvidedContext {
    platform: PlatformContext;
  }
}
