const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Bytes for people: `999 B`, `1.5 KiB`, `12.0 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return unit === 0 ? `${Math.round(value)} B` : `${value.toFixed(1)} ${UNITS[unit]}`;
}
