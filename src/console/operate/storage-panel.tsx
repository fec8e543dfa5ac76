import type { JSX } from 'preact';
import type { AdminIndex, Report } from '../api/wire.ts';
import { StorageBar, type StoragePart } from '../charts/storage-bar.tsx';
import { ActionButton } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { Empty, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { reportState } from '../state/read-report.ts';
import { verdictState } from '../state/verdict.ts';
import { count, percent, textBytes } from '../text/format.ts';

type Storage = NonNullable<Report<'daemon.doctor'>['storage']>;

/** The parts of the volume. The rest is `other`: manifests, databases, other programs. */
export function storageParts(storage: Storage): readonly StoragePart[] {
  const known =
    storage.current_bytes + storage.retained_bytes + storage.reclaimable_bytes + storage.quarantine_bytes;
  return [
    { kind: 'current', text: 'Current', size: storage.current_bytes },
    { kind: 'retained', text: 'Retained', size: storage.retained_bytes },
    { kind: 'reclaimable', text: 'Reclaimable', size: storage.reclaimable_bytes },
    { kind: 'quarantine', text: 'Quarantine', size: storage.quarantine_bytes },
    { kind: 'other', text: 'Other', size: Math.max(0, storage.total_bytes - storage.free_bytes - known) },
    { kind: 'free', text: 'Free', size: storage.free_bytes },
  ];
}

/** The use of the snapshot volume, and the bytes that a cleanup frees. */
export function StoragePanel(): JSX.Element {
  const feed = reportState(useApp(), 'daemon.doctor');
  const tools =
    (feed.value?.storage?.reclaimable_bytes ?? 0) === 0 ? null : (
      <ActionButton request={{ action: 'release-cleanup' }}>Clean up …</ActionButton>
    );
  return (
    <Panel title="Storage" feed={feed} tools={tools} report="daemon.doctor">
      {({ storage }) =>
        storage === undefined || storage === null ? (
          <Empty>Not measured yet.</Empty>
        ) : (
          <Volume storage={storage} />
        )
      }
    </Panel>
  );
}

/** The releases and the room for more. Other files would only make both unreadable, so they are said in words. */
function Volume({ storage }: { storage: Storage }) {
  const parts = storageParts(storage);
  const other = parts.find(({ kind }) => kind === 'other')?.size ?? 0;
  return (
    <>
      <StorageBar
        label="Use of the volume"
        parts={parts.filter(({ kind }) => kind !== 'other')}
        format={textBytes}
      />
      <p class="muted">{`Other files take ${textBytes(other)} of the ${textBytes(storage.total_bytes)} of the volume.`}</p>
    </>
  );
}

/** What the pass has found, and what earlier ones found of it that is still there. */
function foundText({ damage_in_pass: now, damage_found: all }: NonNullable<AdminIndex['scrub']>): string {
  if (now === undefined) return `${count(all)} damaged since the server started`;
  const found = now === 0 ? 'nothing damaged so far' : `${count(now)} damaged so far`;
  return all > now ? `${found}, ${count(all)} since the server started` : found;
}

/** How far the continuous check of all served files is. */
export function ScrubPanel(): JSX.Element {
  const app = useApp();
  const feed = app.pool.state<AdminIndex>('index');
  const channels = verdictState(app).value?.health.service.channels;
  const isDamaged = [channels?.official, channels?.localized].some((channel) => channel?.state === 'damaged');
  return (
    <Panel title="Scrub" feed={feed}>
      {({ scrub }) =>
        scrub === null ? (
          <Empty>This server runs no scrub, or it has just started.</Empty>
        ) : (
          <>
            <div class="progress">
              <progress aria-label="Coverage of this pass" max={1} value={scrub.share} />
              <p>{`${percent(scrub.share)} of pass ${count(scrub.pass)} · ${foundText(scrub)}`}</p>
            </div>
            <p class="muted">
              {scrub.completed_at === null ? (
                'The first pass is running.'
              ) : (
                <>
                  The last pass ended <Time at={scrub.completed_at} />. Files added later were not included.
                </>
              )}
            </p>
            {isDamaged ? <p class="muted">It skips a withdrawn release; verify and repair read it.</p> : null}
          </>
        )
      }
    </Panel>
  );
}
