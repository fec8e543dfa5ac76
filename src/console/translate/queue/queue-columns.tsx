import type { JSX } from 'preact';
import type { Report } from '../../api/wire.ts';
import { NOTHING } from '../../components/table.tsx';
import { Badge, Time, type Tone } from '../../components/text.tsx';
import type { VirtualColumn } from '../../components/virtual-table.tsx';
import { useApp } from '../../state/app.ts';
import { editorAddress } from '../../text/addresses.ts';
import { count, duration, words } from '../../text/format.ts';

type Task = Report<'translation.tasks'>['items'][number];

const TONES: Readonly<Partial<Record<Task['status'], Tone>>> = {
  in_progress: 'info',
  blocked: 'bad',
  failed: 'bad',
  translated: 'info',
  proofread: 'ok',
  published: 'ok',
};

export const QUEUE_COLUMNS: ReadonlyArray<VirtualColumn<Task>> = [
  {
    id: 'file',
    head: 'File',
    least: 240,
    grow: 4,
    narrow: 'title',
    cell: ({ task_id: id, destination, archive_entry: entry }) => (
      <a
        href={editorAddress(id)}
        tabIndex={-1}
        title={entry === null ? destination : `${destination} › ${entry}`}
      >
        {destination}
        {entry === null ? null : ` › ${entry}`}
      </a>
    ),
  },
  {
    id: 'status',
    head: 'Status',
    least: 110,
    cell: ({ status }) => <Badge tone={TONES[status] ?? 'idle'}>{words(status)}</Badge>,
  },
  {
    id: 'units',
    head: 'Units done',
    least: 150,
    cell: (task) => <Units task={task} />,
  },
  // Two states with three digits each have room.
  { id: 'open', head: 'Open', least: 224, grow: 2, cell: openUnits },
  {
    id: 'worker',
    head: 'Worker',
    least: 166,
    narrow: 'none',
    cell: (task) => <Worker task={task} />,
  },
  {
    id: 'reason',
    head: 'Reason',
    least: 110,
    grow: 2,
    narrow: 'none',
    cell: ({ reason, failure_reason: failure }) => {
      const text = [failure, reason].filter((each) => each !== null && each !== '').join('; ');
      return text === '' ? NOTHING : <span title={text}>{text}</span>;
    },
  },
  {
    id: 'updated',
    head: 'Changed',
    least: 96,
    narrow: 'none',
    cell: ({ updated_at: at }) => <Time at={at} />,
  },
];

function Units({ task }: { task: Task }) {
  const counts = Object.entries(task.unit_counts);
  const total = counts.reduce((sum, [, some]) => sum + some, 0);
  const done = (task.unit_counts['translated'] ?? 0) + (task.unit_counts['proofread'] ?? 0);
  return (
    <span class="units-done">
      <progress aria-label={`Units done of ${task.destination}`} max={total || 1} value={done} />
      {`${count(done)} of ${count(total)}`}
    </span>
  );
}

function openUnits({ unit_counts: counts }: Task): JSX.Element | string {
  const parts = ['blocked', 'stale', 'untranslated', 'draft'].flatMap((state) => {
    const some = counts[state] ?? 0;
    return some === 0 ? [] : [`${count(some)} ${state}`];
  });
  if (parts.length === 0) return NOTHING;
  const text = parts.join(', ');
  return <span title={text}>{text}</span>;
}

function Worker({ task }: { task: Task }) {
  const app = useApp();
  const { worker_status: status, lease_owner: owner, lease_expires_at: until } = task;
  if (owner === null || until === null) return <span class="muted">{words(status)}</span>;
  const left = until - app.now();
  const lease = left > 0 ? `${duration(left)} left` : 'lease ended';
  return <span title={`${lease}, ${owner}`}>{`${lease.replace(/ \d+ s/, '')}, ${owner}`}</span>;
}
