/** Values that the examples share, so that the documents tell one story. */
export const EXAMPLE = {
  releaseId: '1.66.405117',
  localizedReleaseId: '1.66.405117-l1',
  snapshotId: 'blake3:3d5b0f1a9c0e4f7682c1a57d0e93b6f4d8a2c15e7b9046f3a1d2c3b4e5f60718',
  blake3: '6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85',
  destination: 'TableBundles/Excel.zip',
  at: 1_763_683_200,
  taskId: '01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
} as const;
