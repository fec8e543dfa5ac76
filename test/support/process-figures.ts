import { readdir, readFile } from 'node:fs/promises';

/** Figures that the system reports for a running process. */
export interface ProcessFigures {
  readonly descriptors: number;
  /** Resident memory. */
  readonly residentBytes: number;
}

/** Reads the figures of a process of this machine. */
export async function processFigures(pid: number): Promise<ProcessFigures> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no memory`);
  return { descriptors: (await readdir(`/proc/${pid}/fd`)).length, residentBytes: Number(kilobytes) * 1024 };
}
