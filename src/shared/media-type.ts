/** Media types by the extension of a name, without parameters. */
const BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  [".css", "text/css"],
  [".csv", "text/csv"],
  [".htm", "text/html"],
  [".html", "text/html"],
  [".js", "text/javascript"],
  [".mjs", "text/javascript"],
  [".md", "text/markdown"],
  [".txt", "text/plain"],
  [".log", "text/plain"],
  [".xml", "text/xml"],
  [".yaml", "application/yaml"],
  [".yml", "application/yaml"],
  [".json", "application/json"],
  [".ipynb", "application/x-ipynb+json"],
  [".pdf", "application/pdf"],
  [".wasm", "application/wasm"],
  [".zip", "application/zip"],
  [".gz", "application/gzip"],
  [".tgz", "application/gzip"],
  [".tar", "application/x-tar"],
  [".parquet", "application/vnd.apache.parquet"],
  [".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  [".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
  [".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  [".avif", "image/avif"],
  [".bmp", "image/bmp"],
  [".gif", "image/gif"],
  [".ico", "image/x-icon"],
  [".jpeg", "image/jpeg"],
  [".jpg", "image/jpeg"],
  [".png", "image/png"],
  [".svg", "image/svg+xml"],
  [".webp", "image/webp"],
  [".mp3", "audio/mpeg"],
  [".ogg", "audio/ogg"],
  [".wav", "audio/wav"],
  [".mp4", "video/mp4"],
  [".webm", "video/webm"],
  [".ttf", "font/ttf"],
  [".woff", "font/woff"],
  [".woff2", "font/woff2"],
]);

/** Media type that the extension of a file's name stands for; `undefined` where it has none, or an unknown one. */
export function mediaTypeOfName(name: string): string | undefined {
  // A dot at the beginning hides a file, and begins no extension.
  const extension = /[^/](\.[^./]+)$/.exec(name)?.[1];
  return extension === undefined ? undefined : BY_EXTENSION.get(extension.toLowerCase());
}
