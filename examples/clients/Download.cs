// Downloads the release that a Slipway server serves, and checks each file: as a launcher does, or a game in Unity.
//   mcs -r:System.Net.Http -r:Newtonsoft.Json.dll Download.cs && mono Download.exe http://127.0.0.1:8080 FOLDER
// On Debian, Newtonsoft.Json.dll is in the package libnewtonsoft-json5.0-cil. In Unity, add the package
// com.unity.nuget.newtonsoft-json, and call await Release.Download(...) from an async method.
// Files that are there already are kept if they are right. Call it again after an interruption: it resumes.
//
// It checks CRC-64, as launchers do, which finds damage. To find tampering too, check entry.blake3 with a BLAKE3 library.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

public class Entry
{
    public string destination;
    public long size;
    public string blake3;
    public string crc64;
}

/// <summary>The server refused a request. To send it again would change nothing.</summary>
public class RefusedException : Exception
{
    public RefusedException(string message) : base(message) { }
}

public static class Release
{
    const int Attempts = 5;
    static readonly HttpClient Client = new HttpClient();
    static readonly ulong[] Table = Enumerable.Range(0, 256).Select(index =>
    {
        ulong value = (ulong)index;
        for (int bit = 0; bit < 8; bit++) value = (value & 1) != 0 ? (value >> 1) ^ 0xC96C5795D7870F42UL : value >> 1;
        return value;
    }).ToArray();

    /// <summary>Brings the current release into a folder. Returns how many files were downloaded, and how many kept.</summary>
    public static async Task<int[]> Download(string server, string folder)
    {
        JObject bootstrap = await GetJson(server + "/v1/bootstrap");
        string id = (string)bootstrap["release"]["release_id"];
        Console.WriteLine("release " + id + ": " + bootstrap["release"]["entry_count"] + " files");
        int downloaded = 0, kept = 0;
        long? offset = 0;
        while (offset != null)
        {
            JObject page = await GetJson(
                server + "/v1/distribution?release_id=" + Uri.EscapeDataString(id) + "&limit=1000&offset=" + offset);
            foreach (Entry entry in page["items"].ToObject<List<Entry>>())
            {
                if (await FetchEntry((string)bootstrap["cdn"]["root"], folder, entry)) downloaded++;
                else kept++;
            }
            offset = (long?)page["next_offset"];
        }
        return new[] { downloaded, kept };
    }

    /// <summary>Sends a GET. After a 429 or 503 it waits as long as the server asks for, and tries again.</summary>
    static async Task<HttpResponseMessage> Get(string url, long from = 0, string tag = null)
    {
        for (int attempt = 1; ; attempt++)
        {
            var request = new HttpRequestMessage(HttpMethod.Get, url);
            if (from > 0)
            {
                request.Headers.Range = new RangeHeaderValue(from, null);
                request.Headers.IfRange = new RangeConditionHeaderValue(tag);
            }
            HttpResponseMessage response = await Client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
            if (response.IsSuccessStatusCode) return response;
            string why = await response.Content.ReadAsStringAsync();
            int status = (int)response.StatusCode;
            if ((status != 429 && status != 503) || attempt == Attempts)
                throw new RefusedException(url + ": " + status + " " + why);
            var after = response.Headers.RetryAfter;
            await Task.Delay((after == null ? null : after.Delta) ?? TimeSpan.FromSeconds(1 << attempt));
        }
    }

    public static async Task<JObject> GetJson(string url)
    {
        using (HttpResponseMessage response = await Get(url))
            return JObject.Parse(await response.Content.ReadAsStringAsync());
    }

    /// <summary>Brings a file into the folder. Returns whether it was downloaded.</summary>
    static async Task<bool> FetchEntry(string root, string folder, Entry entry)
    {
        string path = Path.GetFullPath(Path.Combine(folder, entry.destination));
        string home = Path.GetFullPath(folder).TrimEnd(Path.DirectorySeparatorChar) + Path.DirectorySeparatorChar;
        if (!path.StartsWith(home, StringComparison.Ordinal))
            throw new IOException("the server names a path outside the folder: " + entry.destination);
        if (IsRight(path, entry)) return false;
        Directory.CreateDirectory(Path.GetDirectoryName(path));
        string url = root + "/" + string.Join("/", entry.destination.Split('/').Select(Uri.EscapeDataString));
        string part = path + ".part";
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                await DownloadFile(url, part, entry);
                if (IsRight(part, entry)) break;
                if (SizeOf(part) >= entry.size) File.Delete(part);
                throw new IOException(entry.destination + ": the digest is wrong");
            }
            catch (Exception error) when (attempt < Attempts && (error is IOException || error is HttpRequestException))
            {
                // The connection broke; the next attempt resumes.
            }
            await Task.Delay(TimeSpan.FromSeconds(1 << (attempt - 1)));
        }
        if (File.Exists(path)) File.Delete(path);
        File.Move(part, path);
        return true;
    }

    /// <summary>Downloads a file, or the rest of one. The entity tag of a file is its BLAKE3.</summary>
    static async Task DownloadFile(string url, string part, Entry entry)
    {
        long have = SizeOf(part);
        if (have == entry.size && have > 0) return;
        using (HttpResponseMessage response = await Get(url, have < entry.size ? have : 0, "\"" + entry.blake3 + "\""))
        {
            // 206 is the rest; 200 is the whole file.
            bool isRest = response.StatusCode == HttpStatusCode.PartialContent;
            using (var file = new FileStream(part, isRest ? FileMode.Append : FileMode.Create))
                await response.Content.CopyToAsync(file);
        }
    }

    static long SizeOf(string path)
    {
        return File.Exists(path) ? new FileInfo(path).Length : 0;
    }

    static bool IsRight(string path, Entry entry)
    {
        if (!File.Exists(path) || SizeOf(path) != entry.size) return false;
        ulong crc = ulong.MaxValue;
        var piece = new byte[65536];
        using (FileStream file = File.OpenRead(path))
        {
            int length;
            while ((length = file.Read(piece, 0, piece.Length)) > 0)
                for (int i = 0; i < length; i++) crc = Table[(byte)crc ^ piece[i]] ^ (crc >> 8);
        }
        return (~crc).ToString() == entry.crc64;
    }
}

public static class Program
{
    public static int Main(string[] arguments)
    {
        return Run(arguments[0], arguments[1]).GetAwaiter().GetResult();
    }

    static async Task<int> Run(string server, string folder)
    {
        int[] counts = await Release.Download(server, folder);
        Console.WriteLine("downloaded " + counts[0] + ", kept " + counts[1]);
        // What a launcher asks.
        JToken config = (await Release.GetJson(server + "/api/launcher/game/config"))["data"];
        Console.WriteLine("launcher: version " + config["game_latest_version"] + ", " + config["decompression_size"]);
        return 0;
    }
}
