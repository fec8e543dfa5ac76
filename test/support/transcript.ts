import { appendFileSync, writeFileSync } from 'node:fs';

/** Writes down what a test does as a reader could do it by hand, for the guide that shows it. */
export interface Transcript {
  /** A heading. */
  part(title: string): void;
  /** A command as it would be typed, and what it printed. */
  command(typed: string, printed: string): void;
}

/**
 * Makes a transcript.
 *
 * @param file where to write it; `undefined` writes nothing
 * @param names what to write instead of names that only the test has
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
