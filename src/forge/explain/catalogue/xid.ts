import xid from '../../data/xid.json' with { type: 'json' };

/** NVIDIA's meaning of an Xid number; undefined where the table has none. */
export function xidRow(
  number: number,
): { readonly meaning: string; readonly action: string; readonly hardware: boolean } | undefined {
  return xid.xids.find((row) => row.xid === number);
}
