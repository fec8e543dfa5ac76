import { closestName } from '../config/closest-name.ts';

/** The text for wrong arguments: what is wrong, and where the help is. */
export function usageError(program: string, problem: string): string {
  return `${program}: ${problem}\nFor help: ${program} --help\n`;
}

/** The end of a message that names the probably meant word; empty when none is close. */
export function didYouMean(written: string, names: readonly string[]): string {
  const meant = closestName(written, names);
  return meant === null ? '' : `; did you mean "${meant}"?`;
}
