import { ChipText } from '../../../../src/console/components/chip-text.tsx';
import { DiffText } from '../../../../src/console/components/diff-text.tsx';
import type { ComponentSample } from './sample.ts';

/** Texts of a game with placeholders, tags, hidden characters and findings, and the difference of two texts. */
export const chipTextSample: ComponentSample = {
  title: 'Texts of a game',
  Body: () => (
    <>
      <p>
        <ChipText lang="ja" text={'先生、[i]{0}[/i]を<b>お願い</b>します。\n%1$s さん\\nへ'} />
      </p>
      <p>
        <ChipText text={'hidden: \u202eleft\u202c, \u200b, tab\t, \ud83d'} />
      </p>
      <p>
        <ChipText text={'שלום {name} עולם'} />
      </p>
      <p>
        <ChipText
          text="a wrong word, a doubtful one, and a term"
          spans={[
            { start: 2, end: 7, tone: 'bad', note: 'an error' },
            { start: 16, end: 24, tone: 'warn', note: 'a warning' },
            { start: 36, end: 40, tone: 'info', note: 'Glossary: 术语' },
          ]}
        />
      </p>
      <p>
        <DiffText before="先生、{0}を頼みます。" after="先生、{0}をお願いします。" />
      </p>
    </>
  ),
};
