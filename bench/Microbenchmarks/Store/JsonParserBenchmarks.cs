using System.Globalization;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Json.Store;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Parsing a document into its packed form, by its shape: a profile with fields of all kinds, orders that are an array of objects with the same names, and numbers.
/// The longer ones have blocks, which are freed.
/// </summary>
public class JsonParserBenchmarks
{
    private readonly NativeBuffer _image = new();
    private SlabSource _source = null!;
    private Arena _arena = null!;
    private byte[] _text = null!;

    [Params("profile", "orders", "numbers")]
    public string Shape { get; set; } = "";

    [Params(1000, 100_000)]
    public int Bytes { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _source = new SlabSource();
        _arena = new Arena(_source);
        var text = new StringBuilder();
        for (int i = 0; text.Length < Bytes; i++)
        {
            if (i > 0) text.Append(',');
            text.Append(Shape switch
            {
                "profile" => string.Create(CultureInfo.InvariantCulture, $"\"field{i}\":") + (i % 4) switch
                {
                    0 => $"\"a text of the field {i}\"",
                    1 => (i * 7919 % 100_000).ToString(CultureInfo.InvariantCulture),
                    2 => "true",
                    _ => """{"city":"Oslo","zip":"0150","at":[59.91,10.75],"tags":["a","b"]}""",
                },
                "orders" => string.Create(CultureInfo.InvariantCulture, $$"""{"id":{{i}},"customer":"c-{{i % 100}}","price":{{i % 1000}}.25,"paid":false,"tags":["new","gift"]}"""),
                _ => string.Create(CultureInfo.InvariantCulture, $"{i * 7919 % 100_000}.{i % 10}"),
            });
        }

        _text = Encoding.UTF8.GetBytes(Shape == "profile" ? $"{{{text}}}" : $"[{text}]");
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _arena.Dispose();
        _source.Dispose();
        _image.Dispose();
    }

    [Benchmark]
    public int Parse()
    {
        _image.Clear();
        if (!JsonParser.OfThread.TryParseDocument(_text, _image, _arena)) throw new InvalidOperationException(Encoding.UTF8.GetString(JsonParser.OfThread.Error.Message));
        int bytes = _image.Length;
        if (JsonParser.OfThread.MayRefer) JsonDocument.Free(_image, _arena);
        return bytes;
    }
}
