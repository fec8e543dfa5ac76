import { z } from 'zod';
import { globProblem } from './glob-filter.ts';

/** Refuses a glob with a {@link globProblem}, with the problem as the message. For `superRefine`. */
export function requireGlob(glob: string, context: z.core.$RefinementCtx<string>): void {
  const problem = globProblem(glob);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
}

/** A glob over destinations in a configuration. */
export const globSchema = z.string().min(1).max(1024).superRefine(requireGlob);
