import type { RouteHandlers } from "../built-in-routes.js";
import { cappedInteger, optionalText, optionalTexts } from "../fields.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";
import { TERMINAL_PATH } from "../terminal-socket.js";

const DEFAULT_SHELL = "/bin/bash";
const ANY_SIZE = { min: 1, max: Number.MAX_SAFE_INTEGER } as const;

/** Terminals, but for what is typed and shown. */
export function createTerminalHandlers({
  terminals,
  ports,
}: ServerServices): Pick<RouteHandlers, "createPtySession" | "listPtySessions" | "deletePtySession"> {
  return {
    createPtySession: async ({ body }) => {
      const cols = cappedInteger(body.cols, "cols", { ...ANY_SIZE, preset: 80 });
      const rows = cappedInteger(body.rows, "rows", { ...ANY_SIZE, preset: 24 });
      const envs = optionalTexts(body, "env") ?? {};
      const { id, process } = await terminals.open({ shell: optionalText(body, "shell") || DEFAULT_SHELL, size: { cols, rows }, envs });
      return { session_id: id, ws_url: `ws://localhost:${ports.terminal}${TERMINAL_PATH}?session_id=${id}`, pid: process.pid };
    },
    listPtySessions: () => ({
      sessions: terminals.list().map(({ id, process, createdAt, size }) => ({
        id,
        pid: process.pid,
        created_at: createdAt,
        ...size,
        alive: process.exit === undefined,
      })),
    }),
    deletePtySession: ({ params }) => {
      const id = params.id ?? "";
      if (!terminals.close(id)) throw new RouteFailure(404, "ValueError", `there is no terminal '${id.slice(0, 64)}'`, "not_found");
      return { status: "closed", session_id: id };
    },
  };
}
