import type { z } from 'zod';
import { indentJson, type AdminAnswer } from './admin-api.ts';
import type { CtlContext } from './ctl-context.ts';

const NEWLINE = 0x0a;

/** Writes the bytes of an answer unchanged, and a newline if they do not end with one. */
export function printRaw({ stdout }: Pick<CtlContext, 'stdout'>, body: Buffer): void {
  stdout.write(body);
  if (body.at(-1) !== NEWLINE) stdout.write('\n');
}

/**
 * Writes an answer: its bytes for scripts, the text of `render` for people. People get JSON too when a daemon of another
 * version sends an answer that the schema rejects.
 *
 * @returns the value, or `null` when the schema rejects it
 */
export function printAnswer<T extends z.ZodType>(
  context: CtlContext,
  answer: AdminAnswer,
  schema: T,
  render: (value: z.infer<T>) => string,
): z.infer<T> | null {
  const parsed = schema.safeParse(answer.value);
  if (context.json) printRaw(context, answer.body);
  else context.stdout.write(parsed.success ? render(parsed.data) : `${indentJson(answer)}\n`);
  return parsed.success ? parsed.data : null;
}
