interface DescribedPartition {
  partitionErrorCode: number;
}

/** The part of kafkajs's module that judges an answer about topics. */
interface MetadataAnswer {
  parse(data: {
    readonly topicMetadata: readonly {
      readonly partitionMetadata: readonly DescribedPartition[];
    }[];
  }): Promise<unknown>;
}

/**
 * A partition without a leader affects only itself; kafkajs fails every request about the cluster while there
 * is one. A request to that partition's leader still fails.
 */
export function tolerateLeaderless(original: MetadataAnswer): MetadataAnswer {
  return {
    ...original,
    parse: (data) => {
      for (const { partitionMetadata } of data.topicMetadata)
        for (const partition of partitionMetadata) partition.partitionErrorCode = 0;
      return original.parse(data);
    },
  };
}
