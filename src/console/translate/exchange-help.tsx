import type { ComponentChildren, JSX } from 'preact';
import { formatChoice } from '../../contract/formats/exchange-formats.ts';
import { ActionButton } from '../components/controls.tsx';
import { useApp } from '../state/app.ts';

const KINDS = {
  glossary: { name: 'the Glossary', file: 'terms.csv', formats: formatChoice('terms') },
  memory: { name: 'the Translation Memory', file: 'memory.tmx', formats: formatChoice('memory') },
} as const;

/** How files come in and go out: through the exchange folder of the daemon, by a job that runs once. */
export function ExchangeHelp({
  kind,
  children,
}: {
  readonly kind: keyof typeof KINDS;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { name, file, formats } = KINDS[kind];
  const app = useApp();
  const once = { group: 'i18n', delay_seconds: 0, max_runs: 1, args: [`file=${file}`] };
  return (
    <details class="panel">
      <summary>
        <h2>Import and export files</h2>
      </summary>
      {children}
      <h3>Through the exchange folder of the daemon</h3>
      <ol class="steps">
        <li>
          {`Put a ${formats} file into the exchange folder of the daemon. Its configuration names the folder in `}
          <code>exchange.root</code>.
        </li>
        <li>
          Start the import. It is a job that runs once; use its dry run first, and find its result under{' '}
          <a href="#/tasks">Tasks</a>.
        </li>
        <li>An export writes a file into the same folder.</li>
      </ol>
      <p class="buttons">
        <ActionButton
          request={{
            action: 'schedule-add',
            title: `Import a file into ${name}`,
            body: { ...once, action: `${kind}-import` },
          }}
        >
          Import a file …
        </ActionButton>
        <ActionButton
          request={{
            action: 'schedule-add',
            title: `Export ${name} to a file`,
            body: { ...once, action: `${kind}-export` },
          }}
        >
          Export to a file …
        </ActionButton>
      </p>
      {app.mayRun('schedule-add') ? null : <p class="muted">This token may not start them.</p>}
      <p class="muted">
        {'The command line does the same: '}
        <code>{`slipway ctl ${kind} import ${file}${kind === 'glossary' ? ' --exchange' : ''}`}</code>
      </p>
    </details>
  );
}
