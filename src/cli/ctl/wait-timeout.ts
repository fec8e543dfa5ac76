import { numberOption, type CtlArguments } from './ctl-options.ts';

const LONGEST_WAIT_SECONDS = 7 * 86_400;

/** The value of --wait-timeout in milliseconds; `null` for no limit. */
export function waitTimeoutMs(args: CtlArguments): number | null {
  const seconds = numberOption(args, 'wait-timeout', { min: 0, max: LONGEST_WAIT_SECONDS, fallback: -1 });
  return seconds < 0 ? null : seconds * 1000;
}
