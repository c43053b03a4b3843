using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace RedKite.Json.Tests;

/// <summary>What documents are by another implementation: the nodes of System.Text.Json, and a simple evaluator of paths on them.</summary>
internal static class JsonModel
{
    private const int Narrowing = 4;

    private static readonly JsonSerializerOptions Options = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    internal static string Text(JsonNode? node) => node is null ? "null" : node.ToJsonString(Options);

    /// <summary>A random value.</summary>
    /// <param name="random">The source.</param>
    /// <param name="items">How many items containers of it have at most, which is divided by <see cref="Narrowing"/> at each level.</param>
    /// <param name="textMax">The longest string.</param>
    internal static JsonNode? Random(Random random, int items, int textMax)
    {
        switch (random.Next(items > 0 ? 12 : 8))
        {
            case 0:
                return null;
            case 1:
                return JsonValue.Create(random.Next(2) == 0);
            case 2:
                return JsonValue.Create(random.NextInt64());
            case 3:
                return JsonValue.Create(random.Next(-300, 300) + 0.5);
            case 4 or 5:
                return JsonValue.Create(Word(random, textMax));
            case 6 or 7:
                return JsonValue.Create(random.Next(-100, 70000));
            case 8 or 9:
                var list = new JsonArray();
                for (int i = random.Next(items + 1); i > 0; i--) list.Add(Random(random, items / Narrowing, textMax));
                return list;
            default:
                var members = new JsonObject();
                for (int i = random.Next(items + 1); i > 0; i--) members[Name(random)] = Random(random, items / Narrowing, textMax);
                return members;
        }
    }

    /// <summary>A name of those that objects share, or one that is rare, or a long one.</summary>
    internal static string Name(Random random) => random.Next(40) switch
    {
        0 => new string('n', random.Next(100, 300)),
        < 8 => "rare" + random.Next(10000).ToString(CultureInfo.InvariantCulture),
        9 => "",
        _ => "name" + random.Next(30).ToString(CultureInfo.InvariantCulture),
    };

    /// <summary>The place of a node, as a path of RFC 9535.</summary>
    internal static string PathOf(JsonNode node)
    {
        var path = new StringBuilder("$");
        Append(node);
        return path.ToString();

        void Append(JsonNode at)
        {
            if (at.Parent is not { } parent) return;
            Append(parent);
            if (parent is JsonArray list) path.Append(CultureInfo.InvariantCulture, $"[{list.IndexOf(at)}]");
            else path.Append(CultureInfo.InvariantCulture, $"['{at.GetPropertyName()}']");
        }
    }

    /// <summary>All containers of a document, in its order.</summary>
    internal static IEnumerable<JsonNode> Containers(JsonNode? node)
    {
        if (node is not (JsonArray or JsonObject)) yield break;
        yield return node;
        foreach (JsonNode? child in Children(node))
        {
            foreach (JsonNode inner in Containers(child)) yield return inner;
        }
    }

    internal static IEnumerable<JsonNode?> Children(JsonNode? node) => node switch
    {
        JsonArray list => list,
        JsonObject members => members.Select(member => member.Value),
        _ => [],
    };

    /// <summary>What $..name selects: of each value its member, then those of what is below.</summary>
    internal static IEnumerable<JsonNode?> Descendants(JsonNode? node, string name)
    {
        if (node is JsonObject members && members.TryGetPropertyValue(name, out JsonNode? found)) yield return found;
        foreach (JsonNode? child in Children(node))
        {
            foreach (JsonNode? inner in Descendants(child, name)) yield return inner;
        }
    }

    /// <summary>Removes a member; the last one takes its place.</summary>
    internal static void Remove(JsonObject members, string name)
    {
        int at = members.IndexOf(name), last = members.Count - 1;
        if (at == last)
        {
            members.RemoveAt(at);
            return;
        }

        (string lastName, JsonNode? value) = members.GetAt(last);
        members.RemoveAt(last);
        members.RemoveAt(at);
        members.Insert(at, lastName, value);
    }

    /// <summary>Merges as RFC 7396 says.</summary>
    internal static JsonNode? Merge(JsonNode? target, JsonNode? patch)
    {
        if (patch is not JsonObject members) return patch?.DeepClone();
        if (target is not JsonObject merged) merged = [];
        foreach ((string name, JsonNode? value) in members)
        {
            if (value is null)
            {
                if (merged.ContainsKey(name)) Remove(merged, name);
                continue;
            }

            if (merged.TryGetPropertyValue(name, out JsonNode? old) && old is JsonObject && value is JsonObject) Merge(old, value);
            else merged[name] = Merge(null, value);
        }

        return merged;
    }

    private static string Word(Random random, int textMax)
    {
        const string Characters = "abcdefghij \"\\/\n\té€";
        var text = new StringBuilder();
        for (int i = random.Next(4) == 0 ? random.Next(textMax) : random.Next(12); i > 0; i--)
        {
            char c = Characters[random.Next(Characters.Length)];
            text.Append(c);
        }

        return text.ToString();
    }
}
