import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { languageName } from '../../../domain/text/language-name.ts';
import type { Report } from '../../api/wire.ts';
import { Button } from '../../components/controls.tsx';
import { Panel } from '../../components/panel.tsx';
import { NOTHING, Table } from '../../components/table.tsx';
import { Badge, EmptyState, Time, type Tone } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { reportState } from '../../state/read-report.ts';
import { count } from '../../text/format.ts';
import { RunState, TextLine, useRun, type Run } from '../publish/task-run.tsx';
import { numberAt, reasonText, usageText } from './machine-words.ts';

type Status = Report<'translation.status'>;
type Provider = Status['machine_translation']['providers'][number];

const STATES: Readonly<Record<Provider['state'], readonly [Tone, string]>> = {
  untried: ['idle', 'Not used yet'],
  works: ['ok', 'Works'],
  failing: ['warn', 'Failing'],
  out: ['bad', 'Out'],
};

/** The configured providers; empty before the report. */
export function useProviders(): readonly Provider[] {
  return reportState(useApp(), 'translation.status').value?.machine_translation.providers ?? [];
}

/** The providers with what is known of them, and a line that tries one. */
export function ProvidersPanel(): JSX.Element {
  const app = useApp();
  const run = useRun('try');
  const [line, setLine] = useState('先生、おはようございます。');
  const mayTry = app.mayRun('translation-worker-run');
  return (
    <Panel title="Providers" feed={reportState(app, 'translation.status')} report="translation.status">
      {({ machine_translation: { providers, source_language: source, target_language: target } }) =>
        providers.length === 0 ? (
          <EmptyState title="No provider is configured">
            Add one to <code>translation.providers</code> in the settings of the daemon. Then this page tests
            it, estimates and translates.
          </EmptyState>
        ) : (
          <>
            <p class="muted">{`From ${languageName(source)} to ${languageName(target)}.`}</p>
            <Table
              caption="Providers"
              rows={providers}
              keyOf={({ name }) => name}
              columns={[
                { head: 'Provider', cell: (provider) => <Name provider={provider} /> },
                { head: 'State', narrow: 'aside', cell: (provider) => <State provider={provider} /> },
                {
                  head: 'Last failure',
                  class: 'wide',
                  cell: (provider) => <LastFailure provider={provider} />,
                },
                {
                  head: 'Test',
                  cell: ({ name }) => (mayTry ? <TestButton name={name} line={line} run={run} /> : NOTHING),
                },
              ]}
            />
            {mayTry ? (
              <TextLine label="Line for a test; nothing is stored" value={line} onInput={setLine} />
            ) : null}
            <RunState run={run} title="Test">
              {({ result }) => <Tried result={result ?? {}} target={target} />}
            </RunState>
          </>
        )
      }
    </Panel>
  );
}

function TestButton({ name, line, run }: { name: string; line: string; run: Run }) {
  const start = (): void =>
    void run.start('translation-worker-run', { provider: name, args: [`try_text=${line}`] });
  const busy = run.isBusy ? 'A test is running' : line.trim() === '' ? 'Write a line below' : null;
  return (
    <Button about={name} onClick={start} {...(busy === null ? {} : { disabledBecause: busy })}>
      Test
    </Button>
  );
}

function Name({ provider: { name, kind, model, is_default: isDefault, fallback } }: { provider: Provider }) {
  return (
    <>
      <bdi>{name}</bdi>
      <span class="muted">
        {` ${[kind, model, isDefault ? 'the default' : null, fallback === null ? null : `then ${fallback}`]
          .filter((part) => part !== null)
          .join(' · ')}`}
      </span>
    </>
  );
}

function State({ provider: { state, next_request_at: next } }: { provider: Provider }) {
  const [tone, text] = STATES[state];
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {next === null ? null : (
        <span class="muted">
          {' asked again '}
          <Time at={next} />
        </span>
      )}
    </>
  );
}

function LastFailure({ provider: { last_failure: last } }: { provider: Provider }) {
  if (last === null) return <span class="muted">none</span>;
  return (
    <>
      <bdi>{reasonText(last.code, last.message)}</bdi> <Time at={last.at} />
    </>
  );
}

function Tried({ result, target }: { result: Readonly<Record<string, unknown>>; target: string }) {
  return (
    <>
      <p>
        <bdi>{String(result['text'])}</bdi> → <bdi lang={target}>{String(result['translation'])}</bdi>
      </p>
      <p class="muted">
        {`${String(result['provider'])} · ${count(numberAt(result, 'milliseconds'))} ms · ${usageText(result)}`}
      </p>
    </>
  );
}
