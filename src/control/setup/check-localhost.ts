import { lookup } from "node:dns/promises";
import type { DoctorCheck } from "./doctor.js";

/** Browsers and curl know where names below `localhost` lead; other programs ask the system. */
export async function checkLocalhostNames(): Promise<DoctorCheck> {
  const name = "names of ports";
  const addresses = await lookup("8000-sandbox.localhost", { all: true }).catch(() => []);
  const isHere = addresses.length > 0 && addresses.every(({ address }) => address === "::1" || address.startsWith("127."));
  if (isHere) return { name, status: "ok", detail: "every program finds <port>-<id>.localhost on this machine" };
  return {
    name,
    status: "warning",
    detail: "<port>-<id>.localhost is known to browsers and curl; other programs send it as Host header to 127.0.0.1",
    fix: "apt-get install libnss-myhostname",
  };
}
