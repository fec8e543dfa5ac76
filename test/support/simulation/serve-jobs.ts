/** Keeps the programs of isolated processes. It takes the place of `src/platform/isolation/serve-jobs.ts`. */
let served: unknown = null;
const programs = new Map<string, unknown>();

export function serveJobs(program: unknown): void {
  served = program;
}

/** The program that a module serves, which was just loaded for the first time or before. */
export function takeServed(module: string): unknown {
  if (served !== null) programs.set(module, served);
  served = null;
  return programs.get(module);
}
