import { isAbsolute } from 'node:path';
import { literalPattern } from '../../platform/literal-pattern.ts';
import { REPORTS, type ReportName } from '../../contract/reports/reports.ts';

/** Writes the name of a setting where a text names the path that the setting has. */
export type NameFolders = (body: Buffer) => Buffer;

/** The reports whose messages may name a path. The doctor and the log name them: they are for the person who corrects the settings. */
const MESSAGE_REPORTS: ReadonlySet<string> = new Set<ReportName>([
  'task.list',
  'task.status',
  'task.logs',
  'release.status',
  'release.list',
  'schedule.list',
  'parse.status',
  'translation.status',
  'translation.memory.summary',
  'translation.glossary.summary',
]);

/** Whether the messages of a report are for callers, who need no path of this machine. */
export function namesNoPaths(report: string): boolean {
  return report in REPORTS && MESSAGE_REPORTS.has(report);
}

/**
 * Creates the function that takes the absolute paths of a configuration out of a JSON body: callers learn which setting is meant, and
 * nothing of this machine.
 */
export function createFolderNames(configuration: object): NameFolders {
  const paths = [...absolutePaths(configuration, '')]
    .map(({ path, name }) => ({ text: JSON.stringify(path).slice(1, -1), name }))
    .toSorted((left, right) => right.text.length - left.text.length);
  return (body) => {
    const found = paths.filter(({ text }) => body.includes(text));
    if (found.length === 0) return body;
    let text = body.toString('utf8');
    for (const each of found) {
      text = text.replaceAll(
        new RegExp(`(?<![\\w/.-])${literalPattern(each.text)}(?![\\w-])`, 'g'),
        each.name,
      );
    }
    return Buffer.from(text);
  };
}

function* absolutePaths(
  value: unknown,
  name: string,
): Generator<{ readonly path: string; readonly name: string }> {
  if (typeof value === 'string' && isAbsolute(value)) {
    const path = value.replace(/\/+$/, '');
    // The root folder is part of every path.
    if (path !== '') yield { path, name };
  }
  if (Array.isArray(value)) for (const each of value) yield* absolutePaths(each, name);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      yield* absolutePaths(member, name === '' ? key : `${name}.${key}`);
    }
  }
}
