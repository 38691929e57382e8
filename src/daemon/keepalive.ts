const DEFAULT_SECONDS = 90;
const MAX_SECONDS = 86_400;

/**
 * Milliseconds of silence on a stream after which a keepalive is due: the header `Keepalive-Ping-Interval` in seconds, 90 when it is
 * absent, not a positive number or absurd.
 */
export function keepaliveIntervalMs(headers: Headers): number {
  const seconds = Number(headers.get("keepalive-ping-interval") ?? Number.NaN);
  return (seconds > 0 && seconds <= MAX_SECONDS ? seconds : DEFAULT_SECONDS) * 1000;
}
