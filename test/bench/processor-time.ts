import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';

/** USER_HZ, the unit in which Linux reports processor time: 100 on every architecture that Node runs on. */
const TICKS_A_SECOND = 100;

/**
 * Positions of the fields in `/proc/PID/stat` that are read here, counted after the name of the program; see proc(5).
 */
const PARENT = 1;
const USER_AND_SYSTEM = [11, 12] as const;
const OF_ENDED_CHILDREN = [13, 14] as const;

/** Seconds of processor time that some running processes and their running children have used. */
export function processorSeconds(pids: readonly number[]): number {
  let ticks = 0;
  for (const fields of familyOf(pids).values()) ticks += sum(fields, USER_AND_SYSTEM);
  return ticks / TICKS_A_SECOND;
}

/** Seconds of processor time that a running process has used, without its children. */
export function ownSeconds(pid: number): number {
  return sum(familyOf([pid]).get(pid) ?? [], USER_AND_SYSTEM) / TICKS_A_SECOND;
}

/** Seconds of processor time that this process uses for some work, with its garbage collector. */
export function processorSecondsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Seconds of processor time of this process and of all its children, including ended ones. */
export function ownProcessorSeconds(): number {
  return familySeconds(process.pid);
}

/** Seconds of processor time of a running process and of all its children, including ended ones. */
export function familySeconds(pid: number): number {
  const family = familyOf([pid]);
  return processorSeconds([pid]) + sum(family.get(pid) ?? [], OF_ENDED_CHILDREN) / TICKS_A_SECOND;
}

/** Resident bytes of some running processes and their running children. Shared pages count for each process. */
export function residentBytes(pids: readonly number[]): number {
  let bytes = 0;
  for (const pid of familyOf(pids).keys()) {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if (kilobytes === undefined) throw new Error(`process ${pid} has no memory: it has ended`);
    bytes += Number(kilobytes) * 1024;
  }
  return bytes;
}

/** Seconds of processor time that the machine has spent, all processors together. */
export interface MachineTime {
  readonly total: number;
  /** In programs and in the system on their behalf, without interrupts. */
  readonly programs: number;
  /** Taken by other guests of the same host. */
  readonly steal: number;
}

/** Reads `/proc/stat`. */
export function machineTime(): MachineTime {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, hard = 0, soft = 0, steal = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) / TICKS_A_SECOND);
  const programs = user + nice + system;
  return { total: programs + idle + wait + hard + soft + steal, programs, steal };
}

/** A running process and all its descendants. */
export function processFamily(pid: number): readonly number[] {
  return [...familyOf([pid]).keys()];
}

/** The stat fields of some processes and of all their descendants. */
function familyOf(pids: readonly number[]): Map<number, readonly string[]> {
  const all = new Map<number, readonly string[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    const fields = statFields(Number(name));
    if (fields !== null) all.set(Number(name), fields);
  }
  const family = new Map<number, readonly string[]>();
  const wanted = [...pids];
  for (let pid = wanted.pop(); pid !== undefined; pid = wanted.pop()) {
    const fields = all.get(pid);
    if (fields === undefined) throw new Error(`process ${pid} has ended`);
    family.set(pid, fields);
    for (const [child, { [PARENT]: parent }] of all) if (Number(parent) === pid) wanted.push(child);
  }
  return family;
}

function statFields(pid: number): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses and may contain anything.
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    // It ended after it was listed.
    return null;
  }
}

function sum(fields: readonly string[], places: readonly number[]): number {
  return places.reduce((total, place) => total + Number(fields[place] ?? 0), 0);
}
