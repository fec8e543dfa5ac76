import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { ChipText } from '../components/chip-text.tsx';
import { Section } from '../components/panel.tsx';
import { Badge, Empty } from '../components/text.tsx';
import { useTypedQuery } from '../components/use-typed-query.ts';
import { useApp } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { useAnswer } from '../state/use-answer.ts';
import { termAddress } from '../text/addresses.ts';
import { words } from '../text/format.ts';

type Diagnosis = Report<'translation.glossary.diagnose'>;

/** Pause of typing after which the text is checked, milliseconds. */
const PAUSE_MS = 300;
const SEVERITY_TONES = { error: 'bad', warning: 'warn', info: 'info' } as const;

/** Checks any text against the Glossary while it is typed. */
export function GlossaryCheck(): JSX.Element {
  const source = useTypedQuery('check');
  const target = useTypedQuery('target');
  const app = useApp();
  const query = {
    source_text: source.typed,
    ...(target.typed === '' ? {} : { context: JSON.stringify({ translated_text: target.typed }) }),
  };
  const { value: diagnosis, failure } = useAnswer(
    source.typed === '' ? null : JSON.stringify(query),
    async (signal) => await readReport(app, 'translation.glossary.diagnose', query, signal),
    PAUSE_MS,
  );
  return (
    <Section title="Check a text">
      <div class="columns">
        <div class="field">
          <label for="check-source">Source text</label>
          <textarea
            id="check-source"
            rows={3}
            value={source.typed}
            onInput={(event) => source.onInput(event.currentTarget.value)}
            onChange={(event) => source.onChange(event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="check-target">Translation, if there is one</label>
          <textarea
            id="check-target"
            rows={3}
            value={target.typed}
            onInput={(event) => target.onInput(event.currentTarget.value)}
            onChange={(event) => target.onChange(event.currentTarget.value)}
          />
        </div>
      </div>
      {failure === null ? null : <p class="problem">{failure.message}</p>}
      <div aria-live="polite">
        {diagnosis === null ? (
          <Empty>Type a text to see which terms it contains and what they require.</Empty>
        ) : (
          <Findings diagnosis={diagnosis} />
        )}
      </div>
    </Section>
  );
}

function Findings({ diagnosis }: { diagnosis: Diagnosis }) {
  const { source_text: text, constraints, diagnostics, decision } = diagnosis;
  return (
    <>
      <p class="checked-text">
        <ChipText
          text={text}
          spans={constraints.map(({ source_span: span, recommended_translation: wanted, requirement }) => ({
            ...span,
            tone: requirement === 'forbidden' ? 'bad' : 'info',
            note: `${requirement}: ${wanted}`,
          }))}
        />
      </p>
      <p>
        {decision.blocked ? <Badge tone="bad">Blocked</Badge> : <Badge tone="ok">Nothing blocks it</Badge>}
      </p>
      {constraints.length === 0 ? <p class="muted">The text has no term of the Glossary.</p> : null}
      <ul class="rows">
        {constraints.map((each, index) => (
          <li key={index}>
            <a href={termAddress(each.term_id, each.matched_text)}>{each.matched_text}</a>
            {` ${each.requirement} be `}
            <strong>{each.recommended_translation}</strong>
            {each.allowed_translations.length === 0 ? '' : `, or ${each.allowed_translations.join(', ')}`}
          </li>
        ))}
        {diagnostics.map(({ code, severity, message }, index) => (
          <li key={`finding-${index}`}>
            <Badge tone={SEVERITY_TONES[severity]}>{words(severity)}</Badge> {message} <code>{code}</code>
          </li>
        ))}
      </ul>
    </>
  );
}
