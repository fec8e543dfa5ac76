import type { z } from 'zod';
import { stringifyJsonExact } from '../../../contract/json/json-exact.ts';
import { printable } from '../../../platform/terminal/text-table.ts';
import { indentJson, type AdminAnswer } from '../admin-api.ts';
import type { LocalContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { isDataFormat, itemTable, viewOf, type Column, type View } from './view.ts';

const NEWLINE = 0x0a;

/** How an answer is shown to people. */
export interface AnswerText<T> {
  readonly render: (value: T, view: View) => string;
  /** The names for `-o name`, one a line; absent when the answer has none. */
  readonly names?: ((value: T) => readonly string[]) | undefined;
}

/** Writes an answer for programs: its bytes unchanged as JSON, or the same values as YAML. */
export async function printData(context: LocalContext, { body, value }: AdminAnswer): Promise<void> {
  if (context.output === 'yaml') return await printYaml(context, value);
  context.stdout.write(body);
  if (body.at(-1) !== NEWLINE) context.stdout.write('\n');
}

/** Writes a value that the command has made itself: for programs as it is, for people as text. */
export async function printValue(
  context: LocalContext,
  value: unknown,
  render: (view: View) => string,
): Promise<void> {
  if (context.output === 'yaml') await printYaml(context, value);
  else if (context.output === 'json') context.stdout.write(`${stringifyJsonExact(value)}\n`);
  else context.stdout.write(render(viewOf(context)));
}

/**
 * Writes an answer: its values for programs, the text of `render` for people. An answer that the schema rejects is written as JSON, so
 * that a person can see what came.
 *
 * @throws CtlFailure when the schema rejects the answer
 */
export async function printAnswer<T extends z.ZodType>(
  context: LocalContext,
  answer: AdminAnswer,
  schema: T,
  { render, names }: AnswerText<z.infer<T>>,
): Promise<z.infer<T>> {
  const parsed = schema.safeParse(answer.value);
  if (isDataFormat(context.output)) await printData(context, answer);
  else if (!parsed.success) {
    if (context.output !== 'name') context.stdout.write(`${indentJson(answer)}\n`);
  } else if (context.output === 'name' && names !== undefined) {
    context.stdout.write(nameLines(names(parsed.data)));
  } else context.stdout.write(render(parsed.data, viewOf(context)));
  if (parsed.success) return parsed.data;
  throw new CtlFailure(
    CTL_EXITS.unreachable,
    'this version cannot read the answer; check that the address is that of Slipway, and compare the versions',
  );
}

/** Writes items that the command knows without the service: their values for programs, a table for people. */
export async function printItems<T>(
  context: LocalContext,
  items: readonly T[],
  columns: ReadonlyArray<Column<T>>,
  nameOf: (item: T) => string,
): Promise<void> {
  await printValue(context, items, (view) =>
    context.output === 'name' ? nameLines(items.map(nameOf)) : itemTable(items, columns, view),
  );
}

function nameLines(names: readonly string[]): string {
  return names.map((name) => `${printable(name)}\n`).join('');
}

/** Loads the library for YAML, which takes about 30 ms, only when it is needed. */
async function printYaml({ stdout }: LocalContext, value: unknown): Promise<void> {
  const { stringify } = await import('yaml');
  stdout.write(stringify(value, { lineWidth: 0, compat: 'yaml-1.1' }));
}
