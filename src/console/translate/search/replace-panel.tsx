import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { postAction } from '../../actions/post-action.ts';
import { randomKey } from '../../api/random-key.ts';
import { DiffText } from '../../components/diff-text.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { Section } from '../../components/panel.tsx';
import { Empty } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { count, counted } from '../../text/format.ts';
import { personOf } from '../editor/draft/editor-session.ts';
import type { Unit } from '../editor/unit.ts';
import { unitReader } from '../editor/list/unit-scan.tsx';
import {
  replaceBody,
  replacementsIn,
  restoreBody,
  restored,
  sendReplacements,
  type Replacement,
  type SentReplacements,
} from './replace.ts';

interface Outcome extends SentReplacements {
  readonly run: string;
}

/** Refused translations that are named. */
const NAMED = 20;
const NONE: ReadonlyMap<string, string> = new Map();

/** Replaces a text in the translations that were found, after the person has seen every one of them. */
export function ReplacePanel({
  units,
  searched,
  onDone,
}: {
  readonly units: readonly Unit[];
  readonly searched: string;
  readonly onDone: () => void;
}): JSX.Element {
  const app = useApp();
  const [find, setFind] = useState<string | null>(null);
  const [put, setPut] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [sent, setSent] = useState(NONE);
  const all = replacementsIn(units, find ?? searched, put, sent);
  const chosen = all.filter(({ unitId }) => !left.has(unitId));
  const replace = async (): Promise<void> => {
    setBusy(true);
    setOutcome(await replaceAll(app, chosen));
    setSent(new Map([...sent, ...chosen.map(({ unitId, text }) => [unitId, text] as const)]));
    setBusy(false);
    onDone();
  };
  return (
    <Section title="Replace in translations">
      <div class="filter-bar">
        <label class="filter-wide">
          Find exactly
          <input
            value={find ?? searched}
            onInput={(event) => {
              setFind(event.currentTarget.value);
              setSent(NONE);
            }}
          />
        </label>
        <label class="filter-wide">
          Replace with
          <input
            ref={field}
            value={put}
            onInput={(event) => {
              setPut(event.currentTarget.value);
              setSent(NONE);
            }}
          />
        </label>
        <button
          type="button"
          class="primary"
          disabled={chosen.length === 0 || isBusy}
          onClick={() => void replace()}
        >
          {`Replace in ${counted(chosen.length, 'translation')}`}
        </button>
      </div>
      <p class="muted">
        They become drafts, and are reviewed again. One that somebody changes meanwhile is not overwritten.
      </p>
      {outcome === null ? null : <OutcomeNote outcome={outcome} />}
      {all.length === 0 && outcome === null ? (
        <Empty>No translation that was found has this text.</Empty>
      ) : null}
      <Replacements
        all={all}
        left={left}
        onToggle={(unitId) => setLeft((now) => now.symmetricDifference(new Set([unitId])))}
      />
    </Section>
  );
}

function Replacements({
  all,
  left,
  onToggle,
}: {
  readonly all: readonly Replacement[];
  readonly left: ReadonlySet<string>;
  readonly onToggle: (unitId: string) => void;
}) {
  return (
    <ol class="waiting-units">
      {all.map(({ unitId, destination, source, before, text }) => (
        <li key={unitId}>
          <input
            type="checkbox"
            checked={!left.has(unitId)}
            aria-label={`Replace in ${before.slice(0, 60)}`}
            onChange={() => onToggle(unitId)}
          />
          <div class="waiting-texts">
            <p class="muted">
              <bdi>{source}</bdi> <bdi class="unit-place">{destination}</bdi>
            </p>
            <p>
              <DiffText before={before} after={text} />
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}

function OutcomeNote({
  outcome: { run, stored, blocked, same, unsure, changed, refused },
}: {
  outcome: Outcome;
}) {
  const done = stored.length + same.length;
  const isClean = blocked.length + unsure.length + changed.length + refused.length === 0;
  return (
    <div class={`note ${isClean ? 'ok' : 'bad'}`} role="status">
      <p>{`${replacedText(done)}.`}</p>
      {blocked.length === 0 ? null : (
        <p>
          {`${counted(blocked.length, 'of them is', 'of them are')} blocked now by what the checks found. `}
          <a href="#/search?unit_state=blocked">Show what is blocked</a>
        </p>
      )}
      {unsure.length === 0 ? null : (
        <p>{`${counted(unsure.length, 'translation')} may have been replaced: the server did not answer. Replace again to be sure; nothing is replaced twice.`}</p>
      )}
      {changed.length === 0 ? null : (
        <p>{`${counted(changed.length, 'translation was', 'translations were')} changed meanwhile, and stay as they are.`}</p>
      )}
      {refused.slice(0, NAMED).map(({ target: { unitId, destination, before }, why }) => (
        <p key={unitId}>
          <bdi>{`${destination}, “${before.slice(0, 60)}”: ${why}`}</bdi>
        </p>
      ))}
      {refused.length > NAMED ? <p>{`${count(refused.length - NAMED)} more were refused.`}</p> : null}
      {stored.length + unsure.length === 0 ? null : (
        <CopyLine line={`slipway ctl translations undo --run ${run}`} />
      )}
    </div>
  );
}

function replacedText(done: number): string {
  return `${counted(done, 'translation was', 'translations were')} replaced`;
}

async function replaceAll(app: App, chosen: readonly Replacement[]): Promise<Outcome> {
  const run = `replace-${randomKey()}`;
  const person = personOf(app);
  const outcome = await sendAll(app, chosen, (call) => replaceBody(call, { run, person }));
  const { stored } = outcome;
  if (stored.length > 0) {
    app.toast(`${replacedText(stored.length + outcome.same.length)}.`, 'ok', () => {
      void (async () => {
        const back = await sendAll(app, restored(stored), (call) => restoreBody(call, person));
        const done = back.stored.length + back.same.length;
        const text = `${counted(done, 'translation is', 'translations are')} as before, as drafts`;
        const left = stored.length - done;
        const others = `, and ${count(left)} ${left === 1 ? 'is' : 'are'} not: ${back.refused[0]?.why ?? 'changed meanwhile, or without an answer.'}`;
        app.toast(left === 0 ? `${text}.` : text + others, left === 0 ? 'ok' : 'bad');
      })();
    });
  }
  return { ...outcome, run };
}

async function sendAll(
  app: App,
  targets: readonly Replacement[],
  bodyOf: (call: readonly Replacement[]) => object,
): Promise<SentReplacements> {
  return await sendReplacements(targets, {
    bodyOf,
    post: async (body) => await postAction(app, 'translation-task-update', JSON.stringify(body)),
    readerOf: (container) => unitReader(app, container),
    pause: async (seconds) => await new Promise((resolve) => setTimeout(resolve, 1000 * seconds)),
  });
}
