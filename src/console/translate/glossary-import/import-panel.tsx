import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { textEncodingOf } from '../../../contract/formats/text-encoding.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { failureOf } from '../../api/api-client.ts';
import { Button } from '../../components/controls.tsx';
import { Table } from '../../components/table.tsx';
import { useApp } from '../../state/app.ts';
import { counted, count } from '../../text/format.ts';
import {
  importTerms,
  NOTHING_DONE,
  type ImportProgress,
  type TermOutcome,
  readTerms,
  type FileTerms,
} from './import-terms.ts';

const MOST_BYTES = 5 * 1024 * 1024;
const SHOWN = 8;
const SHOWN_ISSUES = 100;

const OUTCOMES: Readonly<Record<TermOutcome, string>> = {
  added: 'added',
  updated: 'changed',
  reviewed: 'reviewed',
  unchanged: 'as they are',
  left_out: 'left out',
  conflict: 'decided otherwise',
  refused: 'refused',
};

interface Chosen extends FileTerms {
  readonly file: string;
  readonly progress: ImportProgress | null;
}

/** Imports the terms of a CSV file of this computer as drafts: first a preview, then one term after another. */
export function ImportPanel({ pair }: { readonly pair: LanguagePair }): JSX.Element {
  const app = useApp();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isRunning, setRunning] = useState(false);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const choose = async (file: File | undefined): Promise<void> => {
    setChosen(null);
    setProblem(null);
    if (file === undefined) return;
    try {
      setChosen({ file: file.name, progress: null, ...(await readFile(file, pair)) });
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const start = async ({ terms, file }: Chosen): Promise<void> => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const show = (progress: ImportProgress): void =>
      setChosen((now) => (now === null ? null : { ...now, progress }));
    setRunning(true);
    setProblem(null);
    show(NOTHING_DONE);
    try {
      await importTerms(app, terms, { pair, file, signal, onProgress: show, wait: pause });
    } catch (error) {
      setProblem(`${failureOf(error).message} The terms before are imported; start again for the others.`);
    } finally {
      setRunning(false);
      app.pool.refresh();
    }
  };
  return (
    <section aria-labelledby="import-title">
      <h3 id="import-title">From this computer</h3>
      <p class="muted">
        {`A CSV file with the columns source_term and recommended_translation, and any other column of an export. Its terms, of ${pair.sourceLanguage} to ${pair.targetLanguage}, become drafts; decisions of people stay.`}
      </p>
      <div class="field">
        <label for="import-file">CSV file</label>
        <input
          id="import-file"
          type="file"
          accept=".csv,text/csv"
          disabled={isRunning}
          onChange={(event) => void choose(event.currentTarget.files?.[0])}
        />
      </div>
      {problem === null ? null : (
        <p class="note bad" role="alert">
          {problem}
        </p>
      )}
      {chosen === null ? null : chosen.progress === null ? (
        <Preview chosen={chosen} onStart={() => void start(chosen)} />
      ) : (
        <Course
          chosen={chosen}
          progress={chosen.progress}
          isRunning={isRunning}
          onStop={() => stop.current.abort()}
        />
      )}
    </section>
  );
}

/** @throws Error with a sentence for the person */
async function readFile(file: File, pair: LanguagePair): Promise<FileTerms> {
  if (file.size > MOST_BYTES)
    throw new Error('The file has more than 5 MiB. Put it into the exchange folder of the daemon instead.');
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = textEncodingOf(bytes);
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new Error('The file is neither UTF-8 nor UTF-16. Save it as “CSV UTF-8”.');
  }
  return readTerms(text, pair);
}

/** Waits, but no longer than until the signal. @param seconds how long */
async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, seconds * 1000);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function Preview({
  chosen: { file, terms, problems, remarks, others },
  onStart,
}: {
  readonly chosen: Chosen;
  readonly onStart: () => void;
}): JSX.Element {
  const besides = [
    ...(problems.length === 0 ? [] : [`${counted(problems.length, 'row')} cannot be read`]),
    ...(others === 0 ? [] : [`${counted(others, 'row')} of other languages`]),
  ];
  return (
    <>
      <p>{[`${file} has ${counted(terms.length, 'term')}`, ...besides].join(', ')}.</p>
      {terms.length === 0 ? null : (
        <Table
          caption={`The first terms of ${file}`}
          rows={terms.slice(0, SHOWN)}
          keyOf={({ line }) => String(line)}
          columns={[
            { head: 'Source term', cell: ({ term }) => term.source_term },
            { head: 'Translation', cell: ({ term }) => term.recommended_translation },
            { head: 'Category', cell: ({ term }) => term.category || '–' },
          ]}
        />
      )}
      <More of={terms.length} shown={SHOWN} />
      <Issues rows={[...problems, ...remarks]} />
      {terms.length === 0 ? null : (
        <Button class="primary" onClick={onStart}>{`Import ${counted(terms.length, 'term')}`}</Button>
      )}
    </>
  );
}

function Course({
  chosen: { terms, problems, remarks },
  progress: { done, counts, issues },
  isRunning,
  onStop,
}: {
  readonly chosen: Chosen;
  readonly progress: ImportProgress;
  readonly isRunning: boolean;
  readonly onStop: () => void;
}): JSX.Element {
  const sums = Object.entries(counts).map(
    ([outcome, some]) => `${count(some)} ${OUTCOMES[outcome as TermOutcome]}`,
  );
  return (
    <>
      {isRunning ? (
        <div class="difference-progress">
          <progress aria-label="Progress of the import" max={terms.length} value={done} />
          <span class="muted">{`${count(done)} of ${count(terms.length)}`}</span>
          <Button onClick={onStop}>Stop</Button>
        </div>
      ) : (
        <p
          class={`note ${issues.length + problems.length === 0 && done === terms.length ? 'ok' : 'warn'}`}
          role="status"
        >
          {`${done === terms.length ? 'The import has ended' : `Stopped after ${count(done)} of ${count(terms.length)}`}: ${sums.join(', ') || 'nothing was changed'}.`}
        </p>
      )}
      <Issues rows={[...problems, ...remarks, ...issues]} />
    </>
  );
}

function More({ of, shown }: { readonly of: number; readonly shown: number }): JSX.Element | null {
  return of > shown ? <p class="muted">{`and ${count(of - shown)} more`}</p> : null;
}

function Issues({
  rows,
}: {
  readonly rows: ReadonlyArray<{ readonly line: number; readonly message: string }>;
}): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <>
      <ul class="rows" aria-label="Terms that are not imported, and remarks">
        {rows.slice(0, SHOWN_ISSUES).map(({ line, message }) => (
          <li key={`${line} ${message}`}>
            <span class="muted">{`Line ${count(line)}: `}</span>
            <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
      <More of={rows.length} shown={SHOWN_ISSUES} />
    </>
  );
}
