import type { JSX } from 'preact';
import type { Health, Report } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { CopyLine } from '../components/copy-line.tsx';
import { TaskProgress, titleOf } from '../components/task-parts.tsx';
import { Prose, Time } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { currentVerdict, verdictState } from '../state/verdict.ts';
import { taskAddress } from '../text/addresses.ts';
import { counted, absolute, count, duration, textBytes, withReadersTimes } from '../text/format.ts';
import { incidentOf, type Incident } from './incident.ts';
import { Runbook } from './runbook.tsx';

const SIGNS = { ok: '✓', warn: '!', bad: '✕', idle: '…', info: '…', unknown: '?' } as const;

/** The problem, above the first row: one cause, one remedy. Nothing while the service is healthy. */
export function IncidentCard(): JSX.Element | null {
  const app = useApp();
  const { tone, title, why, todo, since, until } = currentVerdict(app);
  if (tone === 'ok') return null;
  const incident = currentIncident(app);
  return (
    <section class={`incident ${tone}`} aria-labelledby="verdict-title">
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      <div>
        <h2 id="verdict-title">{title}</h2>
        {since === null ? null : (
          <p class="muted">
            Began <Time at={since} clock="beside" />
          </p>
        )}
        {why === '' ? null : <p>{withReadersTimes(why, app.now())}</p>}
        {incident === null ? null : <Files incident={incident} />}
        {incident?.storage ? <VolumeUse storage={incident.storage} /> : null}
        {todo === null || incident?.storage?.reclaimable_bytes === 0 ? null : (
          <p class="todo">
            <strong>What to do: </strong>
            <Prose text={todo} />
          </p>
        )}
        {incident?.findings.map((finding) => (
          <p key={finding}>
            <strong>The doctor found: </strong>
            {withReadersTimes(finding, app.now())}
          </p>
        ))}
        {incident === null ? <NextTry /> : <Remedies incident={incident} />}
        {until === null ? null : (
          <p>
            {`Files are served until ${absolute(until, app.now())}, for ${duration(until - app.now())}, unless this is settled before.`}
          </p>
        )}
        {incident === null ? null : <Consequences incident={incident} />}
      </div>
    </section>
  );
}

function currentIncident({ pool, contract }: App): Incident | null {
  const { value, failure } = pool.state<{ readonly health: Health }>('verdict');
  if (value === null || failure !== null) return null;
  const facts = {
    health: value.health,
    releases: pool.state<Report<'release.status'>>('release.status').value,
    doctor: pool.state<Report<'daemon.doctor'>>('daemon.doctor').value,
    tasks: pool.state<Report<'task.list'>>('task.list').value,
  };
  return incidentOf(facts, contract.checks);
}

function Files({ incident: { files, fileCount } }: { incident: Incident }) {
  if (fileCount === 0) return null;
  const more = fileCount - files.length;
  return (
    <div>
      <p>{`${counted(fileCount, 'file is', 'files are')} damaged or missing:`}</p>
      <ul class="files">
        {files.map((file) => (
          <li key={file}>
            <code>{file}</code>
          </li>
        ))}
      </ul>
      {more > 0 ? (
        <p>
          and {count(more)} more, see <a href="#/releases">Releases</a>
        </p>
      ) : null}
    </div>
  );
}

function VolumeUse({ storage }: { storage: NonNullable<Incident['storage']> }) {
  return (
    <p>
      {`${textBytes(storage.free_bytes)} of ${textBytes(storage.total_bytes)} are free. `}
      {storage.reclaimable_bytes > 0
        ? `A cleanup frees ${textBytes(storage.reclaimable_bytes)}.`
        : `A cleanup frees nothing: ${textBytes(storage.current_bytes)} are served and ${textBytes(storage.retained_bytes)} are kept as settings or pins demand. Enlarge the volume, keep fewer releases, or unpin one.`}
    </p>
  );
}

function Remedies({ incident }: { incident: Incident }) {
  const app = useApp();
  const { remedy, task, command, reason } = incident;
  return (
    <>
      {task === null ? null : (
        <div>
          <p>
            <strong>{`${titleOf(app, task)} is ${task.status === 'queued' ? 'about to run' : 'running'}. `}</strong>
            <a href={taskAddress(task.task_id)}>Watch</a>
          </p>
          <TaskProgress task={task} />
        </div>
      )}
      <div class="buttons">
        {remedy === null || task !== null ? null : (
          <ActionButton request={remedy.request} class="primary">
            {remedy.text}
          </ActionButton>
        )}
      </div>
      {command === null ? null : (
        <details>
          <summary>On the command line</summary>
          <CopyLine line={command} />
        </details>
      )}
      <Runbook reason={reason} />
    </>
  );
}

/** The answers that clients get, and the things that are unknown because of the cause. */
function Consequences({ incident }: { incident: Incident }) {
  const { contract } = useApp();
  const { state, unknown, unknownSince } = incident;
  return (
    <>
      <details>
        <summary>Effect on clients</summary>
        <p>{contract.states[state]}</p>
      </details>
      {unknown.length === 0 ? null : (
        <details>
          <summary>
            {`${count(unknown.length)} more unknown since `}
            <Time at={unknownSince} clock="instead" />
          </summary>
          <p>{unknown.join(', ')}</p>
        </details>
      )}
    </>
  );
}

function NextTry() {
  const app = useApp();
  const { nextAt, loadedAt } = verdictState(app);
  if (currentVerdict(app).tone !== 'unknown' || loadedAt === null) return null;
  const now = app.localNow();
  const wait = nextAt === null ? 'now' : `in ${Math.max(0, Math.ceil((nextAt - now) / 1000))} s`;
  return (
    <p class="muted">
      It answered <Time at={app.now() - (now - loadedAt) / 1000} />. Next try {wait}.
    </p>
  );
}
