import { useApp } from '../state/app.ts';
import { reportFeed } from '../state/read-report.ts';
import { taskListFeed } from '../state/tasks.ts';
import { currentVerdict } from '../state/verdict.ts';
import type { View } from '../state/view.ts';
import { DayPanel } from './day-panel.tsx';
import { IncidentCard } from './incident-card.tsx';
import { DoctorLine, NextRuns, RunningTasks } from './running-panels.tsx';
import { ScrubPanel, StoragePanel } from './storage-panel.tsx';
import { syncFeed, SyncPanel } from './sync-panel.tsx';
import { VerdictTiles } from './verdict-tiles.tsx';

export const overviewView: View = {
  feeds: (app) => [
    taskListFeed(app),
    reportFeed(app, 'release.status'),
    reportFeed(app, 'daemon.doctor'),
    reportFeed(app, 'schedule.list'),
    syncFeed(app),
  ],
  Body: () => (
    <>
      <FirstRow />
      <DayPanel />
      <div class="columns">
        <SyncPanel />
        <StoragePanel />
        <ScrubPanel />
      </div>
      <div class="columns">
        <RunningTasks />
        <NextRuns />
        <DoctorLine />
      </div>
    </>
  ),
};

function FirstRow() {
  const { tone } = currentVerdict(useApp());
  return (
    <>
      <IncidentCard />
      {/* Without an answer there are only old figures. */}
      {tone === 'unknown' ? null : <VerdictTiles />}
    </>
  );
}
