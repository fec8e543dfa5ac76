import { instant } from '../instant.ts';
import { REMEDIES, type NextStep } from './service-reasons.ts';

/** Why a daemon does not answer: nothing accepts the connection, or no answer comes in time. */
export type AbsenceKind = 'unreachable' | 'timeout';

interface DaemonAbsence {
  readonly reason: 'DaemonUnreachable' | 'DaemonTimeout';
  readonly message: string;
  readonly next: NextStep;
}

/** @param since Unix seconds; `null` when that is not known */
export function daemonAbsence(kind: AbsenceKind, since: number | null): DaemonAbsence {
  const isUnreachable = kind === 'unreachable';
  const reason = isUnreachable ? 'DaemonUnreachable' : 'DaemonTimeout';
  const what = isUnreachable ? 'has been unreachable' : 'has not answered';
  const from = since === null ? '' : ` since ${instant(since)}`;
  return { reason, message: `the daemon ${what}${from}`, next: REMEDIES[reason] };
}

/** How long a service without a working daemon continues. @param until Unix seconds; `null` when nothing is served */
export function servedUntilText(until: number | null): string {
  return until === null ? 'no official release is served' : `files are served until ${instant(until)}`;
}
