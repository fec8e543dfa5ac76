import type { ComponentChildren, JSX } from 'preact';
import { ChipText } from '../../../components/chip-text.tsx';
import { DiffText } from '../../../components/diff-text.tsx';
import { OTHER_AUTHOR, type DraftChoice, type DraftConflict, type UnitDraft } from './unit-draft.ts';

interface Story {
  readonly title: string;
  readonly text: string;
  readonly choices: ReadonlyArray<readonly [choice: DraftChoice, label: string]>;
}

const STORIES: Readonly<Record<string, Story>> = {
  revision_changed: {
    title: 'Someone else has changed this target',
    text: 'Your text is kept here and was not sent over theirs. Compare, edit yours below if you like, and choose.',
    choices: [
      ['mine', 'Store mine'],
      ['theirs', 'Take theirs'],
    ],
  },
  source_mismatch: {
    title: 'The source text has changed',
    text: 'A newer release has another text here. Your translation was made for the old one.',
    choices: [
      ['mine', 'Mine fits the new source'],
      ['theirs', 'Discard mine'],
    ],
  },
  lease_held: {
    title: 'Someone else works on this unit',
    text: 'Your text is kept here. Wait until they have finished, or store yours anyway.',
    choices: [
      ['retry', 'Try again'],
      ['force', 'Store mine anyway'],
      ['theirs', 'Discard mine'],
    ],
  },
  [OTHER_AUTHOR]: {
    title: 'This text was typed with another token',
    text: 'It is kept in this browser, and is sent when that token logs in again. You can also store it as yours.',
    choices: [
      ['mine', 'Store it as mine'],
      ['theirs', 'Discard it'],
    ],
  },
  invalid_transition: {
    title: 'The task is closed',
    text: 'Your text is kept here. Ask the lead to open the task again.',
    choices: [
      ['retry', 'Try again'],
      ['theirs', 'Discard mine'],
    ],
  },
};

const OTHER: Story = {
  title: 'The server refuses this text',
  text: 'Your text is kept here. Change it, or try again.',
  choices: [
    ['retry', 'Try again'],
    ['theirs', 'Discard mine'],
  ],
};

const COMPARED = new Set(['revision_changed', 'source_mismatch', OTHER_AUTHOR]);

const TOLD = new Set(['revision_changed', 'source_mismatch', 'lease_held']);

/** Shows what a person typed beside what the server has now, and lets the person choose. */
export function ConflictView({
  draft,
  conflict,
  onChoose,
}: {
  readonly draft: UnitDraft;
  readonly conflict: DraftConflict;
  readonly onChoose: (choice: DraftChoice) => void;
}): JSX.Element {
  const story = STORIES[conflict.code] ?? OTHER;
  const isCompared = COMPARED.has(conflict.code);
  const isReady = !isCompared || conflict.theirs !== null;
  return (
    <section class="conflict note warn" role="alert" aria-labelledby="conflict-title">
      <h3 id="conflict-title">{story.title}</h3>
      <p>{story.text}</p>
      {TOLD.has(conflict.code) ? null : <p class="muted">{conflict.detail}</p>}
      {isCompared ? <Versions draft={draft} conflict={conflict} /> : null}
      <p class="buttons">
        {story.choices.map(([choice, label], at) => (
          <button
            type="button"
            key={choice}
            class={at === 0 ? 'primary' : ''}
            disabled={!isReady}
            onClick={() => onChoose(choice)}
          >
            {label}
          </button>
        ))}
      </p>
    </section>
  );
}

function Versions({
  draft: { base, text },
  conflict: { code, theirs },
}: {
  readonly draft: UnitDraft;
  readonly conflict: DraftConflict;
}) {
  if (theirs === null) return <p aria-busy="true">Reading what the server has …</p>;
  return (
    <dl class="versions">
      {code === 'source_mismatch' ? (
        <Version title="Source, old to new">
          <DiffText before={base.source} after={theirs.source} />
        </Version>
      ) : null}
      {base.target === '' ? null : (
        <Version title="You began with">
          <ChipText text={base.target} />
        </Version>
      )}
      <Version title={code === OTHER_AUTHOR ? 'Typed' : 'Yours'}>
        <DiffText before={base.target} after={text} />
      </Version>
      <Version title="Theirs">
        {theirs.target === '' ? (
          <span class="muted">no target</span>
        ) : (
          <DiffText before={base.target} after={theirs.target} />
        )}
      </Version>
    </dl>
  );
}

function Version({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}
