export interface Transport {
  close(): Promise<void>;
}
