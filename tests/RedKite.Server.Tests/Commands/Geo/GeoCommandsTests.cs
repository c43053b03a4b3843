using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class GeoCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        Run("GEOADD sicily 13.361389 38.115556 palermo 15.087269 37.502669 catania").IsInteger(2);
    }

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Positions_are_scores_of_52_bits()
    {
        Run("ZSCORE sicily palermo").IsBulk("3479099956230698");
        Run("TYPE sicily").IsSimple("zset");
        Run("GEOPOS sicily palermo nosuch").Is(RespValue.Aggregate('*', [Position("13.361389338970184", "38.1155563954963"), RespValue.Null('*')]));
        Run("GEOHASH sicily palermo nosuch catania").Is(RespValue.Aggregate('*', [Bulk("sqc8b49rny0"), RespValue.Null('$'), Bulk("sqdtr74hyu0")]));
        Run("GEOPOS missing a").Is(RespValue.Aggregate('*', [RespValue.Null('*')]));
    }

    [Fact]
    public void Distances_have_four_decimals()
    {
        Run("GEODIST sicily palermo catania").IsBulk("166274.1516");
        Run("GEODIST sicily palermo catania km").IsBulk("166.2742");
        Run("GEODIST sicily palermo catania MI").IsBulk("103.3182");
        Run("GEODIST sicily palermo palermo ft").IsBulk("0.0000");
        Run("GEODIST sicily palermo nosuch").IsNull();
        Run("GEODIST sicily palermo catania leagues").IsError("ERR unsupported unit provided. please use M, KM, FT, MI");
    }

    [Fact]
    public void Geoadd_follows_the_rules_of_sorted_sets()
    {
        Run("GEOADD sicily NX 0 0 palermo 1 1 other").IsInteger(1);
        Run("GEOADD sicily XX CH 14 38 palermo 2 2 nosuch").IsInteger(1);
        Run("ZCARD sicily").IsInteger(3);
        Run("GEOADD sicily NX XX 1 1 a").IsError("ERR syntax error");
        Run("GEOADD sicily 1 1 a 2").IsError("ERR syntax error");
        Run("GEOADD sicily 181 1 a").IsError("ERR invalid longitude,latitude pair 181.000000,1.000000");
        Run("GEOADD sicily 1 85.06 a").IsError("ERR invalid longitude,latitude pair 1.000000,85.060000");
        Run("GEOADD sicily x 1 a").IsError("ERR value is not a valid float");
    }

    [Fact]
    public void Coordinates_are_numbers_in_resp3()
    {
        Run("HELLO 3");
        Run("GEOPOS sicily catania").Is(RespValue.Aggregate('*', [RespValue.Aggregate('*', [RespValue.Scalar(',', "15.087267458438873"u8.ToArray()), RespValue.Scalar(',', "37.50266842333162"u8.ToArray())])]));
    }

    private static RespValue Position(string longitude, string latitude) => RespValue.Aggregate('*', [Bulk(longitude), Bulk(latitude)]);

    private static RespValue Bulk(string text) => RespValue.Scalar('$', System.Text.Encoding.Latin1.GetBytes(text));

    private RespValue Run(string line) => _transcript.Run(line);
}
