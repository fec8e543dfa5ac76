import type { FeedRequest } from '../../api/feed-pool.ts';
import { useApp, type App } from '../../state/app.ts';
import { reportFeed } from '../../state/read-report.ts';
import { taskFeed } from '../../state/tasks.ts';
import type { View } from '../../state/view.ts';
import { BlockersPanel } from '../blockers-panel.tsx';
import { OwnChannel } from '../own-channel.tsx';
import { PublishPanel } from './publish-panel.tsx';
import { RollbackPanel } from './rollback-panel.tsx';
import { StatePanel } from './state-panel.tsx';
import { RUN_NAMES } from './task-run.tsx';

export const publishView: View = { feeds, Body: Publish };

function feeds(app: App): readonly FeedRequest[] {
  const runs = RUN_NAMES.map((name) => app.query(name)).filter((id) => id !== '');
  return [
    reportFeed(app, 'translation.status', { everyMs: 3000 }),
    reportFeed(app, 'translation.handoff'),
    reportFeed(app, 'release.status', { everyMs: 3000 }),
    ...[...new Set(runs)].map((id) => taskFeed(app, id)),
  ];
}

function Publish() {
  const app = useApp();
  return (
    <OwnChannel>
      {app.mayRun('localized-publish') ? null : (
        <p class="note info">
          {app.canControl()
            ? 'This token cannot publish: it needs the scope publish. The page shows what a publication would contain.'
            : 'This server forwards no actions, so nothing is published from this page.'}
        </p>
      )}
      <StatePanel />
      <BlockersPanel />
      <PublishPanel />
      <RollbackPanel />
    </OwnChannel>
  );
}
