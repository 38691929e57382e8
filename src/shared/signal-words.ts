/** Words for signals, as strsignal(3) has them on the wire of this service. */
export const SIGNAL_WORDS: Readonly<Partial<Record<NodeJS.Signals, string>>> = {
  SIGHUP: "hangup",
  SIGINT: "interrupt",
  SIGQUIT: "quit",
  SIGILL: "illegal instruction",
  SIGTRAP: "trace/breakpoint trap",
  SIGABRT: "aborted",
  SIGBUS: "bus error",
  SIGFPE: "floating point exception",
  SIGKILL: "killed",
  SIGUSR1: "user defined signal 1",
  SIGSEGV: "segmentation fault",
  SIGUSR2: "user defined signal 2",
  SIGPIPE: "broken pipe",
  SIGALRM: "alarm clock",
  SIGTERM: "terminated",
  SIGXCPU: "CPU time limit exceeded",
  SIGXFSZ: "file size limit exceeded",
  SIGSYS: "bad system call",
};

/** The signal in what a daemon of the shared wire says about an end; `undefined` when none ended the process, or one without a known name. */
export function signalOfWords(error: string | undefined): NodeJS.Signals | undefined {
  const words = /^signal: (.+?)(?: \(core dumped\))?$/.exec(error ?? "")?.[1];
  // The table has exactly the names that NodeJS.Signals lists.
  return Object.entries(SIGNAL_WORDS).find(([, value]) => value === words)?.[0] as NodeJS.Signals | undefined;
}
