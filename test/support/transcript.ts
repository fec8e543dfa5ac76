import { appendFileSync, writeFileSync } from 'node:fs';

/** Records the commands of a test and their output, for the guide that shows them. */
export interface Transcript {
  /** Writes a heading. */
  part(title: string): void;
  /** Writes a command as typed in a shell, and its output. */
  command(typed: string, printed: string): void;
}

/**
 * Makes a transcript.
 *
 * @param file output file; `undefined` writes nothing
 * @param names replacements for names that only the test uses
 */
export function createTranscript(
  file: string | undefined,
  names: Readonly<Record<string, string>>,
): Transcript {
  if (file === undefined) return { part: () => undefined, command: () => undefined };
  writeFileSync(file, '');
  const write = (text: string): void => {
    let shown = text;
    for (const [own, usual] of Object.entries(names)) shown = shown.replaceAll(own, usual);
    appendFileSync(file, shown);
  };
  return {
    part: (title) => {
      write(`\n## ${title}\n\n`);
    },
    command: (typed, printed) => {
      write(`$ ${typed}\n${printed}\n\n`);
    },
  };
}
