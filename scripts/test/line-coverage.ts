/** What V8 reports of one source (`Profiler.ScriptCoverage`). */
export interface ScriptCoverage {
  readonly url: string;
  readonly functions: ReadonlyArray<{
    /** The first range is the whole function; the later ones are blocks in it, outer ones before inner ones. */
    readonly ranges: ReadonlyArray<{
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }>;
  }>;
}

/**
 * Marks the characters of a source that ran in one process.
 *
 * @param ran one element for each character; set to 1 where it ran, left as it is elsewhere
 */
export function markRan(ran: Uint8Array, report: ScriptCoverage): void {
  const here = new Uint8Array(ran.length);
  for (const { ranges } of report.functions) {
    for (const { startOffset, endOffset, count } of ranges) {
      here.fill(count > 0 ? 1 : 0, startOffset, endOffset);
    }
  }
  for (const [at, value] of here.entries()) if (value === 1) ran[at] = 1;
}

/** Counts the lines of a source that ran. Empty lines and those of comments alone do not count. */
export function lineCoverage(
  source: string,
  ran: Uint8Array,
): { readonly lines: number; readonly covered: number } {
  let lines = 0;
  let covered = 0;
  let start = 0;
  for (const line of source.split('\n')) {
    const first = start + line.search(/\S/u);
    start += line.length + 1;
    if (!/^\s*(?!\/\/|\/?\*)\S/u.test(line)) continue;
    lines += 1;
    if (ran[first] === 1) covered += 1;
  }
  return { lines, covered };
}
