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

/** The processes that a process of this machine started and that still run. */
export async function childrenOf(pid: number | 'self'): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    threads.map(async (thread) => {
      // A thread can end meanwhile.
      return await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '');
    }),
  );
  return lists.flatMap((list) =>
    list
      .split(' ')
      .filter((each) => /^\d+$/.test(each))
      .map(Number),
  );
}

/** Clock ticks of a second. Source: sysconf(3), which gives 100 on every Linux that Node supports. */
const TICKS = 100;

/** The processor time that a process of this machine has used. */
export async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses can hold spaces. User and system time are the fields 14 and 15 (proc_pid_stat(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
